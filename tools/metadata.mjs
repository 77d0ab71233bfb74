#!/usr/bin/env node
// What registries are told beside a package's own files: keywords, and the addresses of owner.json, which are left out while they are
// empty. `node tools/metadata.mjs` prints server.json, as registries of MCP servers take it.
import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const text = (path) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const said = (key) => new RegExp(`^${key} = "(.*)"$`, 'm').exec(text('Cargo.toml'))[1];

export const KEYWORDS = ['llm-training', 'gpu-memory', 'pipeline-parallelism', 'parallelism', 'megatron', 'fsdp', 'calculator', 'mcp'];

/** The owner's addresses: `repository` as https://github.com/OWNER/NAME, `homepage` where the page is published. */
export const owner = () => JSON.parse(text('owner.json'));

/** The name of the MCP server, which its npm package repeats; undefined where no account of GitHub owns the repository. */
function serverName(repository) {
  const [, account] = /^https:\/\/github\.com\/([\w.-]+)\/[\w.-]+$/.exec(repository) ?? [];
  return account && `io.github.${account}/shardscope`;
}

/** The fields of package.json that need an address. */
export function places({ repository, homepage } = owner()) {
  const mcpName = serverName(repository);
  return {
    ...(mcpName && { mcpName }),
    ...(repository && { repository: { type: 'git', url: `git+${repository}.git` }, bugs: `${repository}/issues` }),
    ...(homepage && { homepage }),
  };
}

/** A description of at most 100 characters, which is all that the registry takes: up to the last comma within them. */
const short = (text) => (text.length <= 100 ? text : text.slice(0, 100).replace(/,[^,]*$/, ''));

/** server.json of the MCP registry's schema of 2025-10-17; undefined without a repository, whose owner names the server. */
export function server({ repository, homepage } = owner()) {
  const name = serverName(repository);
  if (!name) return undefined;
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json',
    name,
    description: short(said('description')),
    version: said('version'),
    repository: { url: repository, source: 'github' },
    ...(homepage && { websiteUrl: homepage }),
    packages: [{
      registryType: 'npm', identifier: 'shardscope', version: said('version'), transport: { type: 'stdio' },
      packageArguments: [{ type: 'positional', value: 'mcp' }],
    }],
  };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const made = server();
  if (made) console.log(JSON.stringify(made, null, 2));
  else console.error('metadata: owner.json names no repository, so there is no server.json');
}

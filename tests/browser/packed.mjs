// What `npm pack dist/pkg` gives, unpacked on its own in a folder that the tests of this process have to themselves.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const home = mkdtempSync(join(tmpdir(), 'tarball-'));
after(() => rmSync(home, { recursive: true }));

/** npm's answer: the files of the tarball, and its name within `home`. */
export const [packed] = JSON.parse(execFileSync('npm', ['pack', '--offline', '--json', '--pack-destination', home], {
  cwd: join(ROOT, 'dist/pkg'), encoding: 'utf8', env: { ...process.env, npm_config_cache: join(home, 'cache') },
}));
// As npm would install it: in node_modules, its command beside.
export const folder = join(home, 'node_modules/shardscope');
execFileSync('mkdir', ['-p', folder]);
execFileSync('tar', ['-xzf', join(home, packed.filename), '--strip-components=1', '-C', folder]);

/** Its package.json. */
export const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
/** The script that is its command. */
export const COMMAND = join(folder, about.bin.shardscope);

export const LONG = { encoding: 'utf8', timeout: 120_000, maxBuffer: 1 << 28 };
export const command = (args, input = '', options = {}) => spawnSync(process.execPath, [COMMAND, ...args], { ...LONG, input, ...options });

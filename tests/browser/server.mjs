// A static file server for tests: 127.0.0.1, a free port, nothing cached, closed by whoever opened it.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

/** What `make build` made. */
export const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.jsonl': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/**
 * Serves the folder `dir` below the path `base`.
 *
 * - `base`: where the folder is mounted, with slashes at both ends ('/some/sub/path/')
 * - `pages`: documents that exist in the test only, by full path: { '/host.html': '<iframe src=...>' }
 * - `offline`: whether the page keeps a copy of the site for when there is no network. Most tests need none, and each
 *   would fetch the whole site again.
 * - `headers`: sent with every answer. `cors: true` is short for Access-Control-Allow-Origin: *, which a page in a
 *   sandboxed frame needs from the host of its files.
 *
 * - `compress`: sends files as brotli, as a real host does; each is compressed once.
 *
 * Resolves to { origin, url (of `base`), close() }.
 */
export async function serve({ dir = DIST, base = '/', pages = {}, headers = {}, cors = false, offline = false, compress = false } = {}) {
  const always = { 'Cache-Control': 'no-store', ...(cors && { 'Access-Control-Allow-Origin': '*' }), ...headers };
  const small = new Map();
  const server = createServer(async (request, response) => {
    const answer = (status, type, body) => {
      response.writeHead(status, { 'Content-Type': type, ...always });
      response.end(body);
    };
    try {
      const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
      if (path in pages) return answer(200, TYPES['.html'], pages[path]);
      if (!path.startsWith(base)) return answer(404, TYPES['.txt'], 'not found');
      // normalize() of a path with a leading slash cannot climb above it.
      let file = join(dir, normalize('/' + path.slice(base.length)));
      if (file.endsWith('/')) file += 'index.html';
      const body = await readFile(file);
      const kept = offline || !file.endsWith('index.html');
      const sent = kept ? body : Buffer.from(String(body).replace(/ data-build="[^"]*"/, ''));
      if (compress && !small.has(file)) small.set(file, brotliCompressSync(sent));
      if (compress) response.setHeader('Content-Encoding', 'br');
      answer(200, TYPES[extname(file)] ?? 'application/octet-stream', small.get(file) ?? sent);
    } catch {
      answer(404, TYPES['.txt'], 'not found');
    }
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    url: origin + base,
    close() {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    },
  };
}

import { join } from 'node:path';
import { packClient } from './pack-client.ts';

/** `npm run client` makes the package `@annals/client` in `client-package/`. */
const root = process.cwd();
const { tarball, gzippedBytes } = await packClient(root, join(root, 'client-package'));
console.log(
  `${tarball}\n${(gzippedBytes / 1_024).toFixed(1)} kB in a page, minified and gzipped, without socket.io-client; at most 20`,
);

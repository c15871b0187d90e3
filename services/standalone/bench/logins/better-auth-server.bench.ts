import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { emailOTP, siwe } from 'better-auth/plugins';
import { recoverSigner } from '../../../../shared/keys/signatures/recover-signer.ts';

/**
 * Better Auth as a program of its own, configured for speed: SQLite in WAL mode, signatures by the same native library
 * as ours, no rate limits, no log. Prints its URL.
 */
const [file = '', synchronous = 'FULL'] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA cache_size = -65536`);
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
const options = {
  baseURL: url,
  secret: 'measured-and-thrown-away-0123456789',
  database,
  trustedOrigins: ['https://bench.example'],
  rateLimit: { enabled: false },
  logger: { disabled: true },
  telemetry: { enabled: false },
  plugins: [
    siwe({
      domain: 'bench.example',
      anonymous: true,
      getNonce: () => Promise.resolve(crypto.randomUUID().replaceAll('-', '')),
      verifyMessage: ({ message, signature, address }) =>
        Promise.resolve(recoverSigner(message, signature) === address),
    }),
    emailOTP({ sendVerificationOTP: () => Promise.resolve() }),
  ],
};
const { runMigrations } = await getMigrations(options);
await runMigrations();
const handle = toNodeHandler(betterAuth(options));
server.on('request', (request, response) => void handle(request, response));
process.once('disconnect', () => process.exit());
process.stdout.write(`${url} is ready\n`);

// Keeps a table of transfers as the chain has them. A change and its cursor are written in one transaction, so that
// neither a kill of this program nor one of the server loses a change, or counts one twice.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Wallet } from 'ethers';
import { createClient } from '@annals/client';

const { app, token, chainId, ...urls } = JSON.parse(readFileSync('.annals/dev.json', 'utf8'));
const signer = new Wallet(app.signingKey);
const annals = createClient({ ...urls, ...app, signRequest: ({ text }) => signer.signMessage(text) });

// Others may read the database.
const database = new DatabaseSync('transfers.db', { timeout: 5_000 });
database.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS transfers (id TEXT PRIMARY KEY, receiver TEXT NOT NULL, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT NOT NULL) STRICT`);
const insert = database.prepare('INSERT INTO transfers VALUES (?, ?, ?)');
const remove = database.prepare('DELETE FROM transfers WHERE id = ?');
const read = database.prepare('SELECT cursor FROM progress');
const keep = database.prepare('INSERT INTO progress VALUES (1, ?) ON CONFLICT DO UPDATE SET cursor = excluded.cursor');
const checkpoint = {
  load: () => /** @type {string | undefined} */ (read.get()?.cursor),
  save: (/** @type {string} */ cursor) => keep.run(cursor),
};

await annals.login.wallet(signer);
const contract = { chainId, contractAddress: token.address };
const eventSignature = 'Transfer(address indexed from, address indexed to, uint256 value)';
await annals.watches.register({ ...contract, eventSignature, eventAbi: [`event ${eventSignature}`], startBlock: 0 });
const onState = (/** @type {{ state: string }} */ { state }) => console.log(state);
const transfers = { ...contract, eventSignature: 'Transfer', fromBlock: 0, checkpoint, onState };
for await (const { change, cursor, event } of annals.events(transfers)) {
  database.exec('BEGIN');
  if (change === 'observed') insert.run(event.Id, String(event.Data.to), String(event.Data.value));
  else remove.run(event.Id);
  keep.run(cursor);
  database.exec('COMMIT');
}

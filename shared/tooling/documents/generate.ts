import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedDocuments } from './generated-documents.ts';
import { goldenEvents, goldenEventsToAdd } from './golden-events.ts';
import { checkedDigests } from './read-model-digests.ts';

/** `npm run generate` writes `schemas/generated/` and the digests of read models, and adds to the golden events. */
const folder = join(process.cwd(), 'schemas', 'generated');
const digestsFile = join(process.cwd(), 'shared', 'documents', 'read-model-digests.json');
const committed = existsSync(digestsFile) ? readFileSync(digestsFile, 'utf8') : '{}';
const digests = checkedDigests(JSON.parse(committed) as Record<string, string>);
const goldenFile = join(process.cwd(), 'shared', 'documents', 'golden-events.ndjson');
const golden = goldenEventsToAdd(goldenEvents(readFileSync(goldenFile, 'utf8')));
for (const [name, text] of generatedDocuments()) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
writeFileSync(digestsFile, `${JSON.stringify(digests, null, 2)}\n`);
appendFileSync(goldenFile, golden.map((line) => `${JSON.stringify(line)}\n`).join(''));

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedDocuments } from './generated-documents.ts';
import { checkedDigests } from './read-model-digests.ts';

/** `npm run generate` writes `schemas/generated/`, and the digests of read models. */
const folder = join(process.cwd(), 'schemas', 'generated');
const digestsFile = join(process.cwd(), 'shared', 'documents', 'read-model-digests.json');
const committed = existsSync(digestsFile) ? readFileSync(digestsFile, 'utf8') : '{}';
const digests = checkedDigests(JSON.parse(committed) as Record<string, string>);
for (const [name, text] of generatedDocuments()) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
writeFileSync(digestsFile, `${JSON.stringify(digests, null, 2)}\n`);

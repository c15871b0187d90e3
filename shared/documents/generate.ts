import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedDocuments } from './generated-documents.ts';

/** `npm run generate` writes `schemas/generated/`. */
const folder = join(process.cwd(), 'schemas', 'generated');
for (const [name, text] of generatedDocuments()) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

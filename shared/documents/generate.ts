import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedDocuments } from './generated-documents.ts';

/** `npm run generate`: writes `schemas/generated/` anew. */
const folder = join(process.cwd(), 'schemas', 'generated');
mkdirSync(folder, { recursive: true });
for (const [name, text] of generatedDocuments()) writeFileSync(join(folder, name), text);

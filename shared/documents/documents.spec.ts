import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { generatedDocuments } from './generated-documents.ts';

const folder = join(import.meta.dirname, '../../schemas/generated');

describe('generated documents', () => {
  it.each([...generatedDocuments()])('%s is committed as the schemas have it: npm run generate', (name, text) => {
    expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toEqual(JSON.parse(text));
  });

  it('has no file that nothing generates', () => {
    expect(readdirSync(folder).sort()).toEqual([...generatedDocuments().keys()].sort());
  });
});

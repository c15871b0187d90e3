import { readFileSync } from 'node:fs';
import { nodeErrorCode } from '../../errors/node-error-code.ts';

/** Returns the text of a file; `undefined` if there is no such file. */
export const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (nodeErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
};

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder, which the test runner removes after the last hook of the spec file. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'annals-test-'));

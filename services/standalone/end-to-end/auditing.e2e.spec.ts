import { describe } from '@jest/globals';
import { auditingContract } from './auditing.contract.ts';

describe('docs/auditing.md', () => {
  auditingContract(() => Promise.resolve({}));
});

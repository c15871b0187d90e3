import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { collections, readModels } from './catalogue.ts';

describe('the catalogue of read models', () => {
  it('has the names under which documents and checkpoints are stored: a changed one is a new name', () => {
    expect(readModels.map((model) => [model.name, Object.values(model.collections).map(({ name }) => name)])).toEqual([
      ['users-v1', ['users']],
      ['sessions-v1', ['sessions']],
      ['apps-v1', ['apps']],
      ['history-v1', ['history', 'history-heads']],
      ['watches-v1', ['watches']],
      ['chain-events-v2', ['chain-events', 'chain-event-counts-v2']],
      ['chains-v1', ['chains']],
    ]);
  });

  it('has what queries filter and sort by', () => {
    const indexed = collections.filter(({ indexes }) => indexes.length > 0);
    expect(indexed.map(({ name, indexes }) => [name, indexes])).toEqual([
      ['history', [['userId', 'sequence']]],
      ['watches', [['chainId', 'contractAddress']]],
      ['chain-events', [['ContractAddress', 'observedPosition', 'BlockNumber']]],
    ]);
  });

  it('has every read model that there is a file of', () => {
    const files = readdirSync(import.meta.dirname).filter((file) => !file.endsWith('.spec.ts'));
    expect(readModels).toHaveLength(files.filter((file) => !['catalogue.ts', 'read-model.ts'].includes(file)).length);
  });
});

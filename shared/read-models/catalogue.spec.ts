import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { collections, readModels } from './catalogue.ts';

describe('the catalogue of read models', () => {
  it('has the stored names of read models and collections, which change only by a new version', () => {
    expect(readModels.map((model) => [model.name, Object.values(model.collections).map(({ name }) => name)])).toEqual([
      ['users-v3', ['users-v3']],
      ['sessions-v3', ['sessions-v3']],
      ['apps-v4', ['apps-v4']],
      ['history-v3', ['history-v3', 'history-heads-v3']],
      ['watches-v6', ['watches-v6']],
      ['chain-events-v5', ['chain-events-v5', 'chain-event-counts-v5']],
      ['chains-v5', ['chain-asides-v2', 'chains-v3', 'chain-verifications-v2']],
      ['transactions-v2', ['transactions-v2']],
      ['reservations-v1', ['reservations-v1']],
    ]);
  });

  it('has an index for each query that filters or sorts', () => {
    const indexed = collections.filter(({ indexes }) => indexes.length > 0);
    expect(indexed.map(({ name, indexes }) => [name, indexes])).toEqual([
      ['users-v3', [['messengerId', 'messengerVerified', 'messengerSince']]],
      ['sessions-v3', [['userId', 'lastUsedAt']]],
      ['apps-v4', [['signer'], ['formerSigner'], ['serverSigner'], ['formerServerSigner']]],
      [
        'history-v3',
        [
          ['userId', 'sequence'],
          ['userId', 'type', 'sequence'],
        ],
      ],
      ['watches-v6', [['chainId', 'contractAddress'], ['isRemoved']]],
      ['chain-events-v5', [['ContractAddress', 'observedPosition', 'BlockNumber']]],
      [
        'transactions-v2',
        [
          ['userId', 'submittedPosition'],
          ['chainId', 'userOpHash'],
          ['chainId', 'isOpen'],
        ],
      ],
      ['reservations-v1', [['chainId', 'state', 'blockNumber']]],
    ]);
  });

  it('has as many read models as the folder has files of them', () => {
    const files = readdirSync(import.meta.dirname).filter((file) => !file.endsWith('.spec.ts'));
    expect(readModels).toHaveLength(
      files.filter((file) => !['catalogue.ts', 'read-model.ts', 'history-line.ts'].includes(file)).length,
    );
  });
});

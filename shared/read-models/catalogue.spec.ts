import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { collections, readModels } from './catalogue.ts';

describe('the catalogue of read models', () => {
  it('has the stored names of read models and collections, which change only by a new version', () => {
    expect(readModels.map((model) => [model.name, Object.values(model.collections).map(({ name }) => name)])).toEqual([
      ['users-v5', ['users-v5']],
      ['sessions-v5', ['sessions-v5']],
      ['apps-v4', ['apps-v4']],
      ['history-v4', ['history-v4', 'history-heads-v4']],
      ['watches-v6', ['watches-v6']],
      ['chain-events-v5', ['chain-events-v5', 'chain-event-counts-v5']],
      ['chains-v5', ['chain-asides-v2', 'chains-v3', 'chain-verifications-v2']],
      ['transactions-v3', ['transactions-v3']],
      ['reservations-v1', ['reservations-v1']],
      ['user-references-v1', ['user-references-v1']],
      ['watch-states-v1', ['watch-former-states-v1', 'watch-former-claims-v1', 'watch-current-states-v1']],
      ['trails-v1', ['trails-v1']],
      ['user-snapshots-v1', ['user-snapshots-v1', 'user-snapshot-states-v1']],
    ]);
  });

  it('is named in deploy/README.md, by which operators read the checkpoints of metrics', () => {
    const text = readFileSync(join(import.meta.dirname, '../../deploy/README.md'), 'utf8');
    expect(readModels.map(({ name }) => name).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it('has an index for each query that filters or sorts', () => {
    const indexed = collections.filter(({ indexes }) => indexes.length > 0);
    expect(indexed.map(({ name, indexes }) => [name, indexes])).toEqual([
      ['users-v5', [['messengerId', 'messengerVerified', 'messengerSince']]],
      [
        'sessions-v5',
        [
          ['userId', 'lastUsedAt'],
          ['userId', 'createdAt', 'startedPosition', 'endedPosition'],
        ],
      ],
      ['apps-v4', [['signer'], ['formerSigner'], ['serverSigner'], ['formerServerSigner']]],
      [
        'history-v4',
        [
          ['userId', 'session', 'type', 'sequence'],
          ['userId', 'session', 'sequence'],
          ['userId', 'app', 'type', 'sequence'],
          ['userId', 'app', 'sequence'],
          ['userId', 'type', 'sequence'],
          ['userId', 'sequence'],
          ['userId', 'time', 'sequence'],
        ],
      ],
      ['watches-v6', [['chainId', 'contractAddress'], ['isRemoved']]],
      ['chain-events-v5', [['ContractAddress', 'observedPosition', 'BlockNumber']]],
      [
        'transactions-v3',
        [
          ['userId', 'submittedPosition'],
          ['chainId', 'userOpHash'],
          ['chainId', 'isOpen'],
        ],
      ],
      ['reservations-v1', [['chainId', 'state', 'blockNumber']]],
      ['user-references-v1', [['userId', 'kind', 'firstPosition']]],
      ['watch-former-states-v1', [['chainId', 'contractAddress'], ['watchId'], ['until', 'since']]],
      ['watch-former-claims-v1', [['chainId', 'contractAddress'], ['watchId']]],
      ['watch-current-states-v1', [['isRemoved'], ['chainId', 'contractAddress']]],
      ['user-snapshots-v1', [['userId', 'upTo']]],
      ['log-places-v1', [['from']]],
      ['seal-tiles-v1', [['of', 'first']]],
    ]);
  });

  it('has no index of a member that SQLite has as a column of every document', () => {
    const columns = ['id', 'position', 'document', 'crc'];
    const indexed = collections.flatMap(({ indexes }) => indexes.flat());
    expect(indexed.filter((member) => columns.includes(member))).toEqual([]);
  });

  it('has as many read models as the folder has files of them', () => {
    const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'),
    );
    expect(readModels).toHaveLength(
      files.filter(
        (file) =>
          ![
            ...['catalogue.ts', 'read-model.ts', 'account/history-line.ts'],
            ...['transparency-log.ts', 'verifications.ts'],
          ].includes(file),
      ).length,
    );
  });
});

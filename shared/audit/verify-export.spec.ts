import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { exportHistory } from './export-history.ts';
import { AuditKey } from './audit-key.jose.ts';
import { verifyExport } from './verify-export.jose.ts';
import { personalDataOf, type PersonalData } from '../key-vault/personal-data.ts';
import { anEvent } from '../testing/event-builder.ts';
import { projectStored } from '../testing/project.ts';
import { testFoundation } from '../testing/test-foundation.ts';

const userId = 'usr_1';

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  for (const line of lines) yield Promise.resolve(line);
}

describe('an export of a history', () => {
  let lines: string[];
  let personalData: PersonalData;
  let auditKey: AuditKey;
  beforeAll(async () => {
    const foundation = await testFoundation();
    personalData = personalDataOf(foundation);
    auditKey = await AuditKey.open(personalData.keys);
    const events = [
      anEvent({ type: 'UserRegistered', data: { userId } }),
      ...['ada', 'grace', 'joan'].map((username) =>
        anEvent({ type: 'ProfileUpdated', data: { userId, changes: { username } } }),
      ),
    ];
    const sealed = await Promise.all(events.map((event) => personalData.seal(event)));
    await foundation.eventStore.append('user-usr_1', -1, sealed);
    await projectStored(foundation);
    const { readStore } = foundation;
    const whole = await text(exportHistory(userId, { readStore, personalData, auditKey }));
    lines = whole.trimEnd().split('\n');
  });
  const keys = () => ({ keys: [auditKey.published] });
  const changed = (at: number, change: (line: string) => string) =>
    lines.map((line, index) => (index === at ? change(line) : line));

  it('is proven with the keys of the service, and without a server', async () => {
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(await verifyExport(each(lines), keys())).toEqual({
      items: 4,
      erased: 0,
      hash,
      signedBy: auditKey.published.kid,
    });
    expect(await verifyExport(each(lines), undefined)).toEqual({ items: 4, erased: 0, hash, signedBy: null });
  });

  it.each([
    ['a name', 1, (line: string) => line.replace('ada', 'eve'), 'line 2 was changed: its digest'],
    ['a time', 1, (line: string) => line.replace('"time":"2', '"time":"3'), 'line 2 was changed: its hash'],
    ['a salt', 2, (line: string) => line.replace(/"salt":"./, '"salt":"z'), 'line 3 was changed: its digest'],
    ['a hash', 0, (line: string) => line.replace(/"hash":"./, '"hash":"z'), 'line 1 was changed: its hash'],
    ['the order', 1, () => '', 'line 3 does not follow'],
    ['the end', 3, () => '', 'lines are missing before the signature'],
    [
      'the signature',
      4,
      (line: string) => line.replace(/"signature":"(.{20})./, '"signature":"$1_'),
      'the signature is not',
    ],
    ['JSON', 2, () => '{', 'line 3 is not JSON'],
    ['an item', 2, () => '{"a":1}', 'line 3 is not an item'],
  ])('is not proven when %s was changed', async (_, at, change, message) => {
    await expect(verifyExport(each(changed(at, change)), keys())).rejects.toThrow(message);
  });

  it('is not proven without its last line, with more after it, or by another key', async () => {
    await expect(verifyExport(each(lines.slice(0, -1)), keys())).rejects.toThrow('the last line with the signature');
    await expect(verifyExport(each([...lines, lines[0] ?? '']), keys())).rejects.toThrow(
      'line 6 is after the signature',
    );
    const other = await AuditKey.open(personalDataOf(await testFoundation()).keys);
    await expect(verifyExport(each(lines), { keys: [other.published] })).rejects.toThrow('the signature is not');
  });
});

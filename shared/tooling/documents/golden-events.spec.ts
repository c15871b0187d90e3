import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventCatalogue } from '../../../schemas/events/catalogue.ts';
import { goldenEvents, goldenEventsToAdd, readByThisBuild } from './golden-events.ts';

const root = join(import.meta.dirname, '../../..');
const committed = goldenEvents(readFileSync(join(root, 'shared/documents/golden-events.ndjson'), 'utf8'));
const schemas = readdirSync(join(root, 'schemas/generated/events')).map((name) => name.replace('.json', ''));
/** Versions from before the first release, of which no store is read. */
const UNRELEASED = ['ChainAdvanced.v2', 'ChainAdvanced.v3'];

const named = ({ type, version }: { type: string; version: number }) => `${type}.v${String(version)}`;

describe('golden events', () => {
  it('are there of every event in every version that was ever released', () => {
    const sampled = new Set(committed.map(named));
    expect(schemas.filter((name) => !sampled.has(name))).toEqual(UNRELEASED);
  });

  it('are recorded by npm run generate, and committed', () => {
    expect(goldenEventsToAdd(committed).map(named)).toEqual([]);
  });

  const readNow = committed.filter(({ type, as }) => eventCatalogue[type].version === as);
  it.each(readNow.map((line) => [named(line), line] as const))(
    '%s is read as it was, and fits its schema',
    (_, line) => {
      const { read, ...now } = readByThisBuild(line);
      expect({ ...now, read }).toEqual(line);
      expect(eventCatalogue[line.type].data.parse(read)).toEqual(read);
    },
  );

  it('are added to for a new version, and never written anew', () => {
    const [registered] = committed.filter(({ type }) => type === 'AppRegistered');
    const others = committed.filter(({ type }) => type !== 'AppRegistered');
    if (!registered) throw new Error('there is a sample of AppRegistered');
    expect(registered).toMatchObject({ version: 1, as: 2, read: { isThirdParty: false } });
    expect(registered.data).not.toHaveProperty('isThirdParty');
    // As builds with another newest version left it: this build adds how it reads that version, and a sample of its own.
    const added = goldenEventsToAdd([...others, { ...registered, as: 1, read: registered.data }]);
    expect(added.map((line) => [named(line), line.as])).toEqual([
      ['AppRegistered.v1', 2],
      ['AppRegistered.v2', 2],
    ]);
    expect(added[0]).toEqual(registered);
  });

  it.each(['read', 'data', 'leaf'] as const)('refuse a build that would need another %s', (member) => {
    const [first, ...others] = committed;
    if (!first) throw new Error('there are samples');
    const changed = { ...first, [member]: member === 'leaf' ? '' : { ...first[member], more: 1 } };
    expect(() => goldenEventsToAdd([changed, ...others])).toThrow(/version 1 is read otherwise than builds before/);
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { anEvent } from '../testing/event-builder.ts';
import { exported, inPieces } from '../testing/exported.ts';
import { SeededRandom } from '../testing/simulation/seeded-random.ts';
import { testFoundation } from '../testing/test-foundation.ts';
import { AuditKey } from './audit-key.ts';
import { ExportNotProven } from './export-lines.ts';
import { verifyExport } from './verify-export.jose.ts';

/** `CHANGES=10000 npm test -- changed-exports` tries more of each kind, and another `SEED` tries others. */
const CHANGES = Number(process.env['CHANGES'] ?? 40);
const SEED = Number(process.env['SEED'] ?? 7);

/** For a kind. */
const WITHIN_MS = 30_000 + CHANGES * 50;

const userId = 'usr_1';
const CHARACTERS = [
  ...Array.from(' \n\r\t\0"{}[]:,.\\-+eE0123456789abcdefxyzABCXYZ_=/éß\u2028\ufeff\ud83d\ude00'),
  '\\u0061',
];
const VALUES: readonly JsonValue[] = [
  null,
  true,
  0,
  1,
  -1,
  1.5,
  '',
  'x',
  '0'.repeat(64),
  {},
  [],
  { enc: 'x', kid: 'y' },
];

type Lines = string[];
type Change = (lines: Lines, random: SeededRandom) => Lines;

const somewhere = (random: SeededRandom, length: number): number => random.between(0, Math.max(0, length - 1));

/** Changes one character of the whole text. */
const character: Change = (lines, random) => {
  const text = `${lines.join('\n')}\n`;
  const at = somewhere(random, text.length);
  const put = random.pick(['', ...CHARACTERS]) ?? '';
  const taken = random.between(put === '' ? 1 : 0, 1);
  const whole = text.slice(0, at) + put + text.slice(at + taken);
  return whole.endsWith('\n') ? whole.slice(0, -1).split('\n') : [...whole.split('\n').slice(0, -1), `${whole}\0`];
};

const onObject = (change: (object: JsonObject, random: SeededRandom) => JsonObject): Change => {
  return (lines, random) => {
    const at = somewhere(random, lines.length);
    const line = JSON.parse(lines[at] ?? '') as JsonObject;
    const inner = random.pick(Object.keys(line).filter((name) => isObject(line[name])));
    const isInner = inner !== undefined && random.chance(0.5);
    const next = isInner ? { ...line, [inner]: change(line[inner] as JsonObject, random) } : change(line, random);
    return lines.with(at, JSON.stringify(next));
  };
};
const isObject = (value: JsonValue | undefined): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const memberTaken = onObject((object, random) => {
  const name = random.pick(Object.keys(object));
  return Object.fromEntries(Object.entries(object).filter(([one]) => one !== name));
});
const memberAdded = onObject((object, random) => ({
  ...object,
  [random.pick(['extra', '__proto__x', 'enc', '0', 'toJSON', 'signature', 'salt', '']) ?? '']:
    random.pick(VALUES) ?? null,
}));
const memberChanged = onObject((object, random) => ({
  ...object,
  [random.pick(Object.keys(object)) ?? 'none']: random.pick(VALUES) ?? null,
}));
/** Reverses the members of a line: the order of members in `data` means nothing. */
const membersMoved: Change = (lines, random) => {
  const at = somewhere(random, lines.length);
  const line = JSON.parse(lines[at] ?? '') as JsonObject;
  return lines.with(at, JSON.stringify(Object.fromEntries(Object.entries(line).reverse())));
};

/** Repeats a member, or adds one that JavaScript treats specially. */
const memberDoubled: Change = (lines, random) => {
  const at = somewhere(random, lines.length);
  const line = lines[at] ?? '';
  const name = random.pick([...Object.keys(JSON.parse(line) as JsonObject), '__proto__', 'constructor']) ?? '';
  const member = `${JSON.stringify(name)}:${JSON.stringify(random.pick(VALUES))}`;
  const inside = random.chance(0.5) && line.includes('"data":{') ? '"data":{' : '{';
  return lines.with(
    at,
    line.replace(inside, () => `${inside}${member},`),
  );
};

const lineTaken: Change = (lines, random) => lines.toSpliced(somewhere(random, lines.length), random.between(1, 3));
const lineAdded: Change = (lines, random) =>
  lines.toSpliced(somewhere(random, lines.length + 1), 0, random.pick([...lines, '', '{}', 'null', '[]']) ?? '');
const linesSwapped: Change = (lines, random) => {
  const [one, other] = [somewhere(random, lines.length), somewhere(random, lines.length)];
  return lines.with(one, lines[other] ?? '').with(other, lines[one] ?? '');
};

const nulls: Change = (lines, random) => {
  const members = random.pick([['data'], ['salt'], ['data', 'salt'], ['hash'], ['app'], ['previous']]) ?? [];
  const first = random.chance(0.3) ? 0 : somewhere(random, lines.length);
  const last = random.chance(0.3) ? lines.length : first + random.between(0, 2);
  return lines.map((line, at) => {
    const object = JSON.parse(line) as JsonObject;
    const named = members.filter((name) => name in object);
    return at < first || at > last
      ? line
      : JSON.stringify({ ...object, ...Object.fromEntries(named.map((name) => [name, null])) });
  });
};

/** The text ends earlier. */
const truncated: Change = (lines, random) => {
  const text = `${lines.join('\n')}\n`;
  const cut = text.slice(0, random.between(0, text.length - 2));
  return cut.endsWith('\n')
    ? cut.slice(0, -1).split('\n')
    : [...cut.split('\n').slice(0, -1), `${cut.split('\n').at(-1) ?? ''}\0`];
};
const reordered: Change = (lines, random) =>
  lines
    .map((line) => [random.next(), line] as const)
    .sort(([one], [other]) => one - other)
    .map(([, line]) => line);
const withMatch = (lines: Lines, random: SeededRandom, pattern: RegExp, change: (text: string) => string): Lines => {
  const text = lines.join('\n');
  const found = random.pick([...text.matchAll(pattern)]);
  if (!found) return lines;
  const end = found.index + found[0].length;
  return `${text.slice(0, found.index)}${change(found[0])}${text.slice(end)}`.split('\n');
};
/** An event, or the whole export, is said to be of another day. */
const dayRelabelled: Change = (lines, random) =>
  withMatch(lines, random, /(?<="time":")[^"]*/g, (time) =>
    new Date(Date.parse(time) + random.between(-1_000, 1_000) * 86_400_000).toISOString(),
  );
const digitChanged: Change = (lines, random) =>
  withMatch(lines, random, /\d/g, (digit) => String((Number(digit) + random.between(1, 9)) % 10));
/** It is said to be the history of somebody else, in one place or in all. */
const ofAnotherUser: Change = (lines, random) => {
  const other = `usr_${String(random.between(2, 9_999))}`;
  return random.chance(0.5)
    ? lines.map((line) => line.replaceAll(userId, other))
    : withMatch(lines, random, new RegExp(userId, 'g'), () => other);
};

const CHANGE: readonly (readonly [string, Change])[] = [
  ['a character', character],
  ['a member, taken', memberTaken],
  ['a member, added', memberAdded],
  ['a member, changed', memberChanged],
  ['the order of members', membersMoved],
  ['a member, doubled', memberDoubled],
  ['a line, taken', lineTaken],
  ['a line, added', lineAdded],
  ['two lines, swapped', linesSwapped],
  ['nulls', nulls],
  ['the end, cut off', truncated],
  ['the order of lines', reordered],
  ['the day', dayRelabelled],
  ['a digit', digitChanged],
  ['the user', ofAnotherUser],
];

describe('an export of a history that was changed', () => {
  let live: Lines;
  let erased: Lines;
  let auditKey: AuditKey;
  beforeAll(async () => {
    const foundation = await testFoundation();
    const personalData = personalDataOf(foundation);
    auditKey = await AuditKey.open(personalData.keys);
    const append = async (revision: number, ...events: [type: string, data: JsonObject][]) => {
      const made = events.map(([type, data]) => anEvent({ type, data: { userId, ...data } }));
      await foundation.eventStore.append(
        'user-usr_1',
        revision,
        await Promise.all(made.map((one) => personalData.seal(one))),
      );
    };
    await append(
      -1,
      ['UserRegistered', {}],
      ['IdentityLinked', { identityId: 'idn_1', method: 'email', label: 'ada@example.org' }],
      ['UserLoggedIn', { identityId: 'idn_1', method: 'email', appId: 'app_1', sessionId: 'ses_1', domainId: 7 }],
      ['ProfileUpdated', { changes: { username: 'Ada "von" Lovelace \u2028 é 😀', signature: null } }],
      ['MessengerUpdated', { changes: { messengerId: '42', messengerVerified: true } }],
    );
    live = (await exported(foundation, userId)).trimEnd().split('\n');
    await append(4, ['UserErased', {}]);
    await personalData.keys.destroyKeysOf(userId);
    erased = (await exported(foundation, userId)).trimEnd().split('\n');
  });
  const verify = (lines: Lines) =>
    verifyExport(inPieces(lines.map((line) => `${line}\n`).join('')), { jwks: { keys: [auditKey.published] } });

  it('is accepted where nothing was changed', async () => {
    expect(await verify(live)).toMatchObject({ items: 5, erased: 0 });
    expect(await verify(erased)).toMatchObject({ items: 6, erased: 6 });
  });

  it.each(CHANGE)(
    `is refused: %s, ${String(CHANGES)} times by the seed ${String(SEED)}`,
    async (_what, change) => {
      const random = new SeededRandom(SEED);
      const accepted: string[] = [];
      for (let number = 0; number < CHANGES;) {
        const whole = random.pick([live, erased]) ?? live;
        const changed = change(whole, random);
        if (changed.join('\n') === whole.join('\n')) continue;
        number += 1;
        const outcome = await verify(changed).catch((error: unknown) => error);
        if (!(outcome instanceof ExportNotProven) || !outcome.message.includes('line'))
          accepted.push(`${String(outcome)}\n${changed.join('\n')}`);
      }
      expect(accepted).toEqual([]);
    },
    WITHIN_MS,
  );
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { ServedWitness, type Misbehaviour } from '../../../shared/testing/http/served-witness.ts';
import { buildLog } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { parseCheckpoint } from '../../../shared/transparency-log/checkpoint.ts';
import { COSIGNATURE, NoteSigner, openNote, parseVkey } from '../../../shared/transparency-log/signed-note.ts';
import { SIZE_TYPE } from '../../../shared/transparency-log/witnesses/add-checkpoint.ts';
import { startAccount } from '../account.module.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 10_000;
const ACCOUNT_URL = 'https://account.example';

/** As it is called in the log and in metrics. */
const nameOf = ({ signer: { key } }: ServedWitness): string => `${key.name}+${key.id.toString('hex')}`;

describe('the checkpoints of a log with witnesses', () => {
  let honest: ServedWitness;
  let other: ServedWitness;
  let account: AccountUnderTest;
  beforeEach(async () => {
    [honest, other] = await Promise.all([ServedWitness.start('honest.example'), ServedWitness.start('other.example')]);
    const LOG_WITNESSES = JSON.stringify([honest.setting, other.setting]);
    account = await startAccountUnderTest(folder, { ACCOUNT_URL, LOG_WITNESSES });
    const logKey = await (await account.ask('/log/key')).text();
    Object.assign(honest, { logKey });
    Object.assign(other, { logKey });
  });
  afterEach(async () => {
    await account[Symbol.asyncDispose]();
    for (const witness of [honest, other]) witness[Symbol.dispose]();
  });

  /** Makes a log of this many leaves. */
  const grow = async (leaves: number): Promise<void> => {
    const { eventStore } = account.foundation;
    const { events } = await eventStore.readAll(0, undefined, Infinity);
    const added = leaves - events.length;
    const event = () => anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered });
    await eventStore.append(`app-${String(leaves)}`, -1, Array.from({ length: added }, event));
    await buildLog(account.foundation);
  };
  const noteAt = async (url: string): Promise<string> => (await fetch(`${url}/log/checkpoint`)).text();
  const served = async (url = account.service.url) => {
    const note = await noteAt(url);
    const { size } = parseCheckpoint(openNote(note, parseVkey(honest.logKey))?.text ?? '');
    const by = [honest, other].filter(({ signer }) => openNote(note, signer.key));
    return { note, size, by };
  };
  /** Returns a checkpoint once exactly these have cosigned it. */
  const cosignedBy = (witnesses: readonly ServedWitness[], size: number) =>
    eventually(
      async () => {
        const { by, ...rest } = await served();
        return (
          rest.size === size && by.length === witnesses.length && witnesses.every((one) => by.includes(one)) && rest
        );
      },
      HAPPENS_WITHIN_MS,
      `the checkpoint of ${String(size)} leaves must be cosigned by ${witnesses.map(({ vkey }) => vkey).join(', ')}`,
    );
  const warnings = () =>
    account.foundation.logged.filter(({ level, witness }) => level === 40 && witness === nameOf(other));

  it('are cosigned by each of them, which is shown that each continues the one before', async () => {
    for (const size of [10, 11, 255, 256, 257, 600]) {
      await grow(size);
      await cosignedBy([honest, other], size);
    }
    expect([honest.size, other.size]).toEqual([600, 600]);
    // Asked from the size before. A machine that is too busy for an answer in time asks again.
    expect([...new Set(honest.requests.map((body) => body.split('\n')[0]))]).toEqual(
      ['0', '10', '11', '255', '256', '257'].map((old) => `old ${old}`),
    );
  });

  const cosignatureOf = (text: string, { signer }: ServedWitness) => signer.sign(text, 1_700_000_000);
  /** The text of the checkpoint that a witness was shown last. */
  const textShownTo = ({ requests }: ServedWitness): string => /\n\n([^]*\n)\n/.exec(requests.at(-1) ?? '')?.[1] ?? '';
  const conflict =
    (sizeFrom: (self: ServedWitness) => string): Misbehaviour =>
    (response, self) =>
      response.writeHead(409, { 'content-type': SIZE_TYPE }).end(`${sizeFrom(self)}\n`);
  const lies: [what: string, reason: string, Misbehaviour][] = [
    ['has gone', 'away', (response) => response.destroy()],
    ['does not answer', 'away', () => undefined],
    ['sends elsewhere', 'away', (response) => response.writeHead(307, { location: honest.url }).end()],
    [
      'answers without end',
      'refused',
      (response) => {
        const more = () => {
          while (!response.destroyed && response.write('— other.example AAAAAAAA\n'.repeat(1_000)));
          response.once('drain', more);
        };
        more();
      },
    ],
    ['refuses', 'refused', (response) => response.writeHead(403).end('no\n')],
    ['fails', 'refused', (response) => response.writeHead(500).end()],
    ['has another root of that size', 'refused', conflict(() => '0')],
    ['says no size', 'refused', conflict(() => '-1')],
    ['has another size at each request', 'refused', conflict(({ requests }) => String(1 + (requests.length % 3)))],
    ['has cosigned more than there is', 'ahead', conflict(() => '1000000')],
    ['answers garbage', 'wrong', (response) => response.end('<html>\u0000</html>')],
    ['answers nothing', 'wrong', (response) => response.end()],
    ['answers with a line that is cut', 'wrong', (response) => response.end('— other.example AAAA')],
    ['cosigns another text', 'wrong', (response, self) => response.end(cosignatureOf('another text\n', self))],
    [
      'cosigns a longer text',
      'wrong',
      (response, self) => response.end(`more\n\n${cosignatureOf(`${textShownTo(self)}\nmore\n`, self)}`),
    ],
    [
      'cosigns with another key',
      'wrong',
      (response, self) => {
        const stranger = new NoteSigner('other.example', Buffer.alloc(32, 1), COSIGNATURE);
        response.end(stranger.sign(textShownTo(self), 1_700_000_000));
      },
    ],
  ];
  it.each(lies)('are served in time without a witness that %s', async (_, reason, misbehaviour) => {
    other.misbehaves = misbehaviour;
    await grow(10);
    await cosignedBy([honest], 10);
    await eventually(() => other.requests.length > 0, HAPPENS_WITHIN_MS, 'the other must be asked');
    await grow(11);
    const { note } = await cosignedBy([honest], 11);
    expect(note.split('\n— ')).toHaveLength(3);
    await eventually(() => warnings().length > 0, HAPPENS_WITHIN_MS, 'the operator must be told');
    expect(warnings()).toHaveLength(1);
    const [metric] = account.service.measured?.filter(({ name }) => name === 'annals_log_witness_failures_total') ?? [];
    const failures = (await metric?.read())?.map(({ labels }) => labels);
    expect(failures).toEqual([{ witness: nameOf(other), reason }]);
  });

  it('are not held up by an answer that is still to come, which is added when it comes', async () => {
    const asked = Promise.withResolvers<() => void>();
    other.misbehaves = (response, self) => {
      const cosignature = cosignatureOf(textShownTo(self), self);
      asked.resolve(() => response.end(cosignature));
    };
    await grow(10);
    const answer = await asked.promise;
    await cosignedBy([honest], 10);
    answer();
    // On a machine that stalls, the witness may be given up before its answer and asked again.
    other.misbehaves = undefined;
    await cosignedBy([honest, other], 10);
  });

  it('are cosigned by a witness that comes back, without anything that happens', async () => {
    other.misbehaves = (response) => response.destroy();
    await grow(10);
    await cosignedBy([honest], 10);
    await eventually(() => warnings().length > 0, HAPPENS_WITHIN_MS, 'the operator must be told');
    other.misbehaves = undefined;
    await cosignedBy([honest, other], 10);
    expect(account.foundation.logged).toContainEqual(
      expect.objectContaining({ msg: 'a witness cosigns the checkpoints of the log again', witness: nameOf(other) }),
    );
  });

  it('are shown by one process alone, served by each, and kept by the next', async () => {
    const second = await startAccount(account.foundation);
    await grow(10);
    await cosignedBy([honest, other], 10);
    expect((await served(second.url)).by).toHaveLength(2);
    expect(honest.requests).toHaveLength(1);
    const { note } = await served();
    honest.misbehaves = (response) => response.destroy();
    other.misbehaves = (response) => response.destroy();
    await account.service.close();
    expect(await noteAt(second.url)).toBe(note);
    honest.misbehaves = undefined;
    await grow(11);
    await eventually(
      async () => {
        const { size, by } = await served(second.url);
        return size === 11 && by.includes(honest);
      },
      HAPPENS_WITHIN_MS,
      'the second process must take over',
    );
    await second.close();
  });

  it('have no line that is no cosignature by a witness, also if one is stored', async () => {
    await grow(10);
    const { note } = await cosignedBy([honest, other], 10);
    const { readStore } = account.foundation;
    const stored = (await readStore.getMany('log-cosignatures-v1', [other.vkey])).get(other.vkey);
    const { position = 0, document: { line = '' } = {} } = stored ?? {};
    const [, own = ''] = note.split(/(?=— other)/);
    expect(line).toBe(own);
    for (const changed of ['', 'x', '— other.example AAAAAAAA\n', `${own}— x AAAAAAAA\n`]) {
      const correct = { id: other.vkey, position, document: { size: 10, line: changed } };
      await readStore.correct('log-cosignatures-v1', [{ id: other.vkey, expected: position, correct }]);
      const { by, note: without } = await served();
      expect([by, note.startsWith(without)]).toEqual([[honest], true]);
    }
  });
});

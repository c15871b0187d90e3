import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { runGo, withGo } from '../../../shared/testing/go/run-go.ts';
import { ServedWitness } from '../../../shared/testing/http/served-witness.ts';
import { buildLog } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { openNote } from '../../../shared/transparency-log/signed-note.ts';
import { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { logLoop } from '../../projector/build-transparency-log/log-loop.ts';
import { startAccountUnderTest } from '../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 30_000;
/** More than two tiles. */
const EVENTS = 600;

describe('the transparency log', () => {
  withGo('read-log')(
    "is verified by Go's sumdb/note and sumdb/tlog: its key, its checkpoint, and a proof of each leaf",
    async () => {
      await using account = await startAccountUnderTest(folder);
      const { eventStore, readStore, logger } = account.foundation;
      const { loop } = logLoop({ eventStore, readStore, logger });
      loop.start();
      const events = Array.from({ length: EVENTS }, () =>
        anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered }),
      );
      const { position } = await eventStore.append('app-1', -1, events);
      const log = new StoredLog(readStore);
      const isThere = async () => (await log.state()).position >= position;
      await eventually(isThere, HAPPENS_WITHIN_MS, 'the log must catch up');
      await loop.stop();
      const url = `${account.service.url}/log`;
      expect(await runGo('read-log', url)).toBe(`${new URL(url).host}/log ${String((await log.state()).size)}\n`);
    },
  );

  withGo('read-cosignatures')('has cosignatures that the packages of transparency-dev verify', async () => {
    using witness = await ServedWitness.start('witness.example');
    const LOG_WITNESSES = JSON.stringify([witness.setting]);
    await using account = await startAccountUnderTest(folder, { LOG_WITNESSES });
    const url = `${account.service.url}/log`;
    const textOf = async (path: string) => (await fetch(`${url}/${path}`)).text();
    witness.logKey = await textOf('key');
    await buildLog(account.foundation);
    const cosigned = async () => {
      const note = await textOf('checkpoint');
      return openNote(note, witness.signer.key) && note;
    };
    const note = await eventually(cosigned, HAPPENS_WITHIN_MS, 'the checkpoint must be cosigned');
    const file = join(folder, 'checkpoint');
    writeFileSync(file, note);
    const { time } = openNote(note, witness.signer.key) ?? {};
    expect(await runGo('read-cosignatures', file, witness.logKey, witness.vkey)).toBe(
      `${new URL(url).host}/log\nwitness.example ${String(time)}\n`,
    );
    writeFileSync(file, note.replace('\n\n', '\nanother line\n\n'));
    await expect(runGo('read-cosignatures', file, witness.logKey, witness.vkey)).rejects.toThrow('invalid signature');
  });
});

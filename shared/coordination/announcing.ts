import type { Logger } from 'pino';
import type { JsonObject } from '../../schemas/json.ts';
import { SupervisedLoop } from '../loops/supervised-loop.ts';
import { THIS_PROCESS } from '../loops/lease-holder.ts';
import { inTime } from '../primitives/in-time.ts';
import { pause } from '../primitives/pause.ts';
import { untilAborted } from '../primitives/until-aborted.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const RENEW_EVERY_MS = 1_000;
const WITHDRAW_WITHIN_MS = 1_000;

interface AnnouncingOptions {
  /** What is announced, and the name of the loop. */
  kind: string;
  readStore: Pick<ReadStore, 'announce' | 'withdraw'>;
  logger: Logger;
  /** Default: this process. */
  id?: string;
  describe: () => JsonObject | Promise<JsonObject>;
}

/** Tells the other processes each second what this one is, and withdraws it when it stops. */
export const announcing = ({
  kind,
  readStore,
  logger,
  id = THIS_PROCESS,
  describe,
}: AnnouncingOptions): SupervisedLoop => {
  let renewals = 0;
  return new SupervisedLoop(`announcing ${kind}`, logger, async (signal, reportRunning) => {
    try {
      while (!signal.aborted) {
        const document = await describe();
        renewals += 1;
        await untilAborted(readStore.announce(kind, { id, renewals, document }), signal);
        reportRunning();
        await pause(RENEW_EVERY_MS, signal);
      }
    } finally {
      if (signal.aborted) await inTime(() => readStore.withdraw(kind, { id, renewals }), WITHDRAW_WITHIN_MS);
    }
  });
};

import type { Logger } from 'pino';
import type { JsonObject } from '../../schemas/json.ts';
import { SupervisedLoop } from '../loops/supervised-loop.ts';
import { THIS_PROCESS } from '../loops/lease-holder.ts';
import { inTime } from '../primitives/waiting/in-time.ts';
import { pauseAligned } from '../primitives/waiting/pause-aligned.ts';
import { untilAborted } from '../primitives/waiting/until-aborted.ts';
import type { Coordination } from './coordination.ts';

const RENEW_EVERY_MS = 1_000;
const WITHDRAW_WITHIN_MS = 1_000;

interface AnnouncingOptions {
  /** The kind of announcement, and the name of the loop. */
  kind: string;
  readStore: Pick<Coordination, 'announce' | 'withdraw'>;
  logger: Logger;
  /** Default: this process. */
  id?: string;
  describe: () => JsonObject | Promise<JsonObject>;
}

/** Announces this process to the others each second, and withdraws the announcement when it stops. */
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
        await pauseAligned(RENEW_EVERY_MS, signal);
      }
    } finally {
      if (signal.aborted) await inTime(() => readStore.withdraw(kind, { id, renewals }), WITHDRAW_WITHIN_MS);
    }
  });
};

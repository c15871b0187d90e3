import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { SignatureEvent } from '../../../schemas/events/request-events.ts';
import { keptForRepeats } from '../../../shared/event-store/permanent-streams.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import type { Refusal } from '../../../shared/errors/refusal.ts';
import { redeem, type Recorded, type Redemption, type Wish } from './redemption.ts';

type Used = { appId: string; recorded: Recorded } | undefined;

const usedFold = {
  initial: undefined as Used,
  evolve: (
    used: Used,
    { data: { appId, sessionId = '', linkTo } }: SignatureEvent,
    _time: number,
    eventId: string,
  ): Used => used ?? { appId, recorded: { sessionId, eventId, ...(linkTo !== undefined && { linkTo }) } },
};

/**
 * Uses up a signed text for one login. The first request to append has used it. The same request of the same app can complete
 * that login after a crash.
 * @param proof what was signed, in its one form; remembered for 25 h, or for `keptSeconds` where that is longer
 * @throws Refusal `used` where it was used by another app, or for no login
 */
export const useOnce = async (
  transactor: Transactor,
  { text, keptSeconds }: { text: string; keptSeconds: number },
  { appId, wish, used }: { appId: string; wish: Wish; used: () => Refusal },
  metadata: EventMetadata,
): Promise<Redemption> => {
  const { redemption } = await redeem<Used, SignatureEvent>(
    transactor,
    {
      stream: `signature-${sha256(text)}`,
      fold: usedFold,
      keep: { seconds: Math.max(keptForRepeats.seconds, keptSeconds) },
      metadata,
      use: (before, _nowMs, session) => (before ? [] : [{ type: 'SignatureUsed', data: { appId, ...session } }]),
      recorded: (found) => (found?.appId === appId && found.recorded.sessionId !== '' ? found.recorded : undefined),
      used,
    },
    wish,
  );
  return redemption;
};

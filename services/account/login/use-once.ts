import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { SignatureEvent } from '../../../schemas/events/request-events.ts';
import { keptForRepeats } from '../../../shared/event-store/permanent-streams.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { sessionIdFrom } from '../domain/session.ts';
import type { Redemption } from './logins.ts';

type Used = { appId: string; redemption: Redemption } | undefined;

const usedFold = {
  initial: undefined as Used,
  evolve: (
    used: Used,
    { data: { appId, sessionId = '', linkTo } }: SignatureEvent,
    _time: number,
    eventId: string,
  ): Used => used ?? { appId, redemption: { sessionId, eventId, ...(linkTo !== undefined && { linkTo }) } },
};

/**
 * Uses up what somebody signed for one login. The request that appends first has used it; the same again of the same app
 * completes its login, should a crash have interrupted it.
 * @param proof what was signed, in its one form; remembered for 25 h, or for `keptSeconds` where that is longer
 * @returns the login that it is used for; `undefined` if it is not one of this app
 */
export const useOnce = async (
  transactor: Transactor,
  { text, keptSeconds }: { text: string; keptSeconds: number },
  { appId, linkTo }: { appId: string; linkTo?: string | undefined },
  metadata: EventMetadata,
): Promise<Redemption | undefined> => {
  const sessionId = sessionIdFrom(transactor.ids.token(26));
  const data = { appId, sessionId, ...(linkTo !== undefined && { linkTo }) };
  const { state: used } = await transactor.transact<Used, SignatureEvent>({
    stream: `signature-${sha256(text)}`,
    fold: usedFold,
    keep: { seconds: Math.max(keptForRepeats.seconds, keptSeconds) },
    metadata,
    decide: (before) => (before ? [] : [{ type: 'SignatureUsed', data }]),
  });
  return used?.appId === appId && used.redemption.sessionId !== '' ? used.redemption : undefined;
};

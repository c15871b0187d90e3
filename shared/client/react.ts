import { useEffect, useState, useSyncExternalStore } from 'react';
import type { AnnalsClient } from './annals-client.ts';
import { AnnalsError, errorOf } from './annals-error.ts';
import type { EventsOptions } from './events/events.ts';
import type { EventRecord, StreamEvent } from './routes.ts';
import type { SessionState } from './session-keeper.ts';
import type { StreamState } from './events/subscription.ts';

/** Who is signed in, also after somebody signed in or out in another tab; `loading` until the storage was read. */
export const useSession = ({ session }: AnnalsClient): SessionState => {
  const state = useSyncExternalStore(
    session.onChange,
    () => session.state,
    () => LOADING,
  );
  useEffect(() => {
    if (session.state.status === 'loading') void session.load();
  }, [session]);
  return state;
};

const LOADING: SessionState = { status: 'loading' };

export interface FollowedEvents {
  /** The newest records that hold, in the order of the stream: one whose block left the chain is taken out again. */
  records: readonly EventRecord[];
  state: StreamState['state'];
  /** Why it is over. While it goes on trying it is `undefined`, and `state` is `connecting`. */
  error: Error | undefined;
}
export type FollowOptions = Omit<EventsOptions, 'signal' | 'onState' | 'checkpoint'>;

const RECORDS_KEPT = 100;
const NOTHING: FollowedEvents = { records: [], state: 'connecting', error: undefined };

/** Follows an event of a contract while the component is there and `options` are given. @param keep how many records */
export const useEvents = (client: AnnalsClient, options: FollowOptions | null, keep = RECORDS_KEPT): FollowedEvents => {
  const [followed, setFollowed] = useState(NOTHING);
  const onGap = options?.onGap;
  const key = options && JSON.stringify(options);
  useEffect(() => {
    setFollowed(NOTHING);
    if (key === null) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    const onState = ({ state }: StreamState) => {
      if (!signal.aborted) setFollowed((before) => ({ ...before, state }));
    };
    const events = client.events({ ...(JSON.parse(key) as FollowOptions), ...(onGap && { onGap }), onState, signal });
    const follow = async () => {
      for await (const change of events) {
        if (signal.aborted) return;
        setFollowed((before) => ({ ...before, records: folded(before.records, change).slice(-keep) }));
      }
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) setFollowed((before) => ({ ...before, error: errorOf(error) }));
    });
    return () => {
      ending.abort(new AnnalsError('subscription_not_found', 'the component is gone'));
    };
  }, [client, key, keep]);
  return followed;
};

const folded = (records: readonly EventRecord[], { change, event }: StreamEvent): readonly EventRecord[] => {
  const others = records.filter(({ Id }) => Id !== event.Id);
  return change === 'observed' ? [...others, event] : others;
};

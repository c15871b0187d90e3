import { isObject, type Json } from '../json-value.ts';

export interface Message {
  name: string;
  payload: Json;
  /** Of server-sent events. */
  id?: string | undefined;
  retry?: string | undefined;
}

/** A client that follows one event of a contract and keeps all that it was sent. */
export interface Reader {
  readonly messages: readonly Message[];
  /** What steps can refer to. */
  state: () => Json;
  /** Why it can receive nothing more; `undefined` while it can. */
  readonly ended: string | undefined;
  close: () => void;
}

/**
 * What a case refers to of any reader: its messages, the payloads of events, of `live`, and of the events before `live`.
 * Each reader adds `cursor`: where it would resume.
 */
export const stateOf = (messages: readonly Message[], more: { [name: string]: Json }): Json => {
  const events = messages.filter(({ name }) => name === 'event').map(({ payload }) => payload);
  const caughtUp = messages.findIndex(({ name }) => name === 'live');
  const live = messages[caughtUp]?.payload ?? null;
  const history = messages.slice(0, Math.max(caughtUp, 0)).filter(({ name }) => name === 'event');
  return {
    messages: messages.map(messageState),
    events,
    live,
    history: history.map(({ payload }) => payload),
    ...more,
  };
};

const messageState = ({ name, payload, id, retry }: Message): Json => ({
  ...{ name, payload },
  ...(id !== undefined && { id }),
  ...(retry !== undefined && { retry }),
});

/** The newest cursor among messages: of an event, or of `live`. */
export const newestCursor = (messages: readonly Message[]): Json | undefined =>
  messages
    .filter(({ name }) => name === 'event' || name === 'live')
    .map(({ payload }) => (isObject(payload) ? payload['cursor'] : undefined))
    .findLast((cursor) => cursor !== undefined);

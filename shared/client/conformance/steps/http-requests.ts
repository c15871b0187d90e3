import type { CaseRun } from '../case-run.ts';
import { textOf, type Json } from '../json-value.ts';
import { EventStream, textOrJson } from '../readers/event-stream.ts';
import { matches } from '../pattern.ts';
import { CAUGHT_UP, channelWith, expectValue } from './step.ts';

/** The address of the event of the case's contract, with what a step adds, changes or leaves out. */
export const streamAddress = (run: CaseRun, more: Record<string, Json>): URL =>
  addressWith(`${run.node.streamUrl}/api/v1/stream`, channelWith(run, more));

export const addressWith = (base: string, query: Record<string, Json>): URL => {
  const url = new URL(base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, textOf(value));
  return url;
};

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: Json;
  signal?: AbortSignal;
}

/** Asks for a page of the node under test, once the read model is not behind. */
export const askCaughtUpPage = (run: CaseRun, url: URL, asked: Asked): Promise<Json> =>
  expectValue(run, CAUGHT_UP, () => askPage(url, asked));

/** Opens server-sent events, once the read model is not behind. */
export const openEvents = (run: CaseRun, url: URL, headers: Record<string, string>) =>
  run.until(
    CAUGHT_UP,
    () => EventStream.open(url, headers),
    ({ answer }) => matches(CAUGHT_UP, answer),
  );

/** Returns `{status, headers, body, text, tookMs}`. */
export const askPage = async (url: URL, { method = 'GET', headers = {}, body, signal }: Asked): Promise<Json> => {
  const began = performance.now();
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const tookMs = Math.round(performance.now() - began);
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: textOrJson(text),
    text,
    tookMs,
  };
};

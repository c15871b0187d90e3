import type { WatchStatus } from '../../../schemas/http/watched-contract.ts';
import { isAborted } from '../../../shared/primitives/is-aborted.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { progressText } from './watch-texts.ts';

const EVERY_MS = 1_000;

/** Where progress is shown. */
export interface ProgressOutput {
  write: (text: string) => unknown;
  /** Of a terminal, on which one line moves. */
  columns?: number | undefined;
  isTTY?: boolean | undefined;
}

interface Followed {
  read: () => Promise<WatchStatus>;
  output: ProgressOutput;
  /** For machines: each status as JSON in a line. */
  json: boolean;
}

/** Shows how far a watch is, each time that it got on, until it is live or the signal aborts. */
export const followStatus = async ({ read, output, json }: Followed, signal: AbortSignal): Promise<void> => {
  const moves = !json && output.isTTY === true;
  let shown = '';
  try {
    while (!signal.aborted) {
      const status = await read();
      const text = progressText(status);
      if (text !== shown)
        output.write(moves ? movedTo(text, output.columns) : `${json ? JSON.stringify(status) : text}\n`);
      shown = text;
      if (status.state === 'live') return;
      await pause(EVERY_MS, signal);
    }
  } catch (error) {
    if (!isAborted(signal)) throw error;
  } finally {
    if (moves && shown !== '') output.write('\n');
  }
};

/** Writes over the line; one that would not fit is cut, because only the last row of it could be written over. */
const movedTo = (text: string, columns = 80): string => `\r${text.slice(0, Math.max(1, columns - 1))}\u001b[K`;

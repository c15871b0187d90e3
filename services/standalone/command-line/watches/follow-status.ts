import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { progressText } from './watch-texts.ts';

const EVERY_MS = 1_000;

/** Where progress is shown. */
export interface ProgressOutput {
  write: (text: string) => unknown;
  /** Width of a terminal, on which one line is updated in place. */
  columns?: number | undefined;
  isTTY?: boolean | undefined;
}

interface Followed {
  read: () => Promise<WatchStatus>;
  output: ProgressOutput;
  /** For machines: prints each status as a line of JSON. */
  json: boolean;
}

/** Shows the progress of a watch each time that it changes, until the watch is live or the signal aborts. */
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

/** Overwrites the line. Cuts a long line, because only its last row could be overwritten. */
const movedTo = (text: string, columns = 80): string => `\r${text.slice(0, Math.max(1, columns - 1))}\u001b[K`;

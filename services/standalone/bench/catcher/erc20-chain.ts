import { RunningProcess } from '../../../shared/testing/running-process.ts';

/** A node's stand-in, with the chain of one token. */
export interface Erc20Chain {
  url: string;
  pid: number | undefined;
  call: <Result>(method: string) => Promise<Result>;
  stop: () => Promise<unknown>;
}

/** What the chain was asked until now: how many calls of each method, and when, in milliseconds since 1970. */
export interface Seen {
  calls: Record<string, number>;
  logsFirstAt: number;
  headFirstAt: number;
}

/** @param timestamps whether logs name the time of their block */
export const startErc20Chain = async (transfers: number, timestamps = true): Promise<Erc20Chain> => {
  const program = ['services/standalone/bench/erc20-chain.bench.js', String(transfers), timestamps ? 'on' : 'off'];
  const running = RunningProcess.spawn('the stand-in for a node', program, {});
  const [, url = ''] = await running.ready(/(http:\S+) is ready/);
  const call = async <Result>(method: string): Promise<Result> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return ((await response.json()) as { result: Result }).result;
  };
  return { url, pid: running.child.pid, call, stop: () => running.stop() };
};

import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';

/** A stand-in for a node, with the chain of one token. */
export interface Erc20Chain {
  url: string;
  pid: number | undefined;
  call: <Result>(method: string) => Promise<Result>;
  stop: () => Promise<unknown>;
}

/** The requests until now: calls per method, and times in milliseconds since 1970. */
export interface Seen {
  calls: Record<string, number>;
  logsFirstAt: number;
  headFirstAt: number;
}

/** @param timestamps whether logs contain the time of their block */
export const startErc20Chain = async (transfers: number, timestamps = true): Promise<Erc20Chain> => {
  const program = [
    'services/standalone/bench/catcher/erc20-chain.bench.ts',
    String(transfers),
    timestamps ? 'on' : 'off',
  ];
  const running = RunningProcess.spawn('the stand-in for a node', program, {});
  const [, url = ''] = await running.ready(/(http:\S+) is ready/);
  const call = async <Result>(method: string): Promise<Result> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return ((await response.json()) as { result: Result }).result;
  };
  return { url, pid: running.child.pid, call, stop: () => running.stop() };
};

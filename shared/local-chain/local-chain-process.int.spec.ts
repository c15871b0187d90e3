import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../testing/processes/free-port.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { ChainClient } from '../chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../chain/client/chain-reader.json-rpc.ts';
import { ensureDevelopmentToken } from './development-token.ethers.ts';
import { startLocalChain } from './local-chain-process.ts';

const folder = temporaryFolder();

/** A busy machine may take long to write the state. */
const optionsOf = (name: string) => ({
  ...{ chainId: 2484, folder: join(folder, name), port: 0 },
  stopsWithinMs: 60_000,
});

/** The block and the start of the chain both round to whole seconds. */
const ROUNDED_SECONDS = 2;

const logsOf = async (rpcUrl: string, address: string) => {
  const reader = new JsonRpcChainReader(new ChainClient(2484, [rpcUrl]));
  try {
    const { number, hash } = await reader.head();
    return {
      number,
      hash,
      logs: await reader.logsOfRange(0, number, { addresses: [address.toLowerCase()], topics: [] }),
    };
  } finally {
    reader.close();
  }
};

describe('local chain', () => {
  it('keeps blocks, logs and its token between starts, also after the program was killed', async () => {
    const options = optionsOf('kept');
    const first = await startLocalChain(options);
    const token = await ensureDevelopmentToken(first.rpcUrl);
    const before = await logsOf(first.rpcUrl, token.address);
    expect(before.logs).toHaveLength(1);
    const pid = readFileSync(join(options.folder, 'anvil.pid'), 'utf8');
    // A second start without a stop finds what a crash would leave.
    const second = await startLocalChain(options);
    expect(readFileSync(join(options.folder, 'anvil.pid'), 'utf8')).not.toBe(pid);
    expect(() => process.kill(Number(pid), 0)).toThrow();
    expect(await logsOf(second.rpcUrl, token.address)).toEqual(before);
    expect(await ensureDevelopmentToken(second.rpcUrl)).toEqual(token);
    await second.stop();
    const third = await startLocalChain(options);
    expect(await logsOf(third.rpcUrl, token.address)).toEqual(before);
    await third.stop();
  });

  it('has the same first block at every start, and new blocks with the current time', async () => {
    const options = optionsOf('genesis');
    const firsts = new Set<string | undefined>();
    const startedAt = Date.now() / 1_000;
    for (let start = 0; start < 5; start += 1) {
      const chain = await startLocalChain(options);
      await ensureDevelopmentToken(chain.rpcUrl);
      const reader = new JsonRpcChainReader(new ChainClient(2484, [chain.rpcUrl]));
      const [first, second] = await reader.headersByNumber([0, 1]);
      firsts.add(first?.hash);
      expect(second?.parentHash).toBe(first?.hash);
      const now = Date.now() / 1_000;
      expect(second?.timestamp).toBeGreaterThan(startedAt - ROUNDED_SECONDS);
      // The clock of the chain is ahead by as long as anvil took to start.
      expect(second?.timestamp).toBeLessThan(now + (now - startedAt) + ROUNDED_SECONDS);
      reader.close();
      await chain.stop();
    }
    expect(firsts.size).toBe(1);
  });

  it('does not end another process that has its process id', async () => {
    const options = optionsOf('foreign');
    await (await startLocalChain(options)).stop();
    const foreign = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], { stdio: 'ignore' });
    writeFileSync(join(options.folder, 'anvil.pid'), String(foreign.pid));
    const chain = await startLocalChain(options);
    expect(foreign.exitCode).toBeNull();
    foreign.kill();
    await Promise.all([once(foreign, 'exit'), chain.stop()]);
  });

  it('reports that its folder is a file', async () => {
    writeFileSync(join(folder, 'chain'), 'damaged');
    await expect(startLocalChain({ chainId: 2484, folder: join(folder, 'chain'), port: 0 })).rejects.toMatchObject({
      syscall: expect.any(String),
      message: expect.stringContaining('/chain'),
    });
  });

  it('reports that its port is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await expect(startLocalChain({ chainId: 2484, folder: join(folder, 'taken'), port })).rejects.toThrow(
      /anvil ended at once: .*address already in use/i,
    );
    server.close();
  });

  it('starts again on another port when another chain with its id has just taken the first one', async () => {
    const first = await startLocalChain(optionsOf('first'));
    const taken = Number(new URL(first.rpcUrl).port);
    const ports = [taken, taken];
    const second = await startLocalChain(optionsOf('second'), async () => ports.pop() ?? (await freePort()));
    expect(ports).toEqual([]);
    expect(second.rpcUrl).not.toBe(first.rpcUrl);
    await Promise.all([first.stop(), second.stop()]);
  });
});

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { FaultyNode, type Fault } from './faulty-node.socketio.ts';
import { runStreamCheck } from './run-stream-check.ts';

const folder = temporaryFolder();
const dataFolder = join(folder, 'data');

let program: RunningProgram;
beforeAll(async () => {
  program = await RunningProgram.start(dataFolder, {});
});
afterAll(() => program.stop());

/** What has to be given for a node that is no development start. */
const elsewhere = async (): Promise<string[]> => {
  const { eventUrl, rpcUrl, token } = program.development;
  const { accessToken } = await signIn(program.development);
  return ['--token', accessToken, '--event-url', eventUrl, '--chain-rpc', rpcUrl, '--key', token?.ownerKey ?? ''];
};

describe('annals stream-check against a node with a fault', () => {
  /** Cases that are enough to find each fault, and that a node without one passes. */
  const CASES = {
    oneBlock: 'resume/one-block-socket',
    oneBlockSse: 'resume/one-block-server-sent-events',
    oneBlockPages: 'resume/one-block-pages',
    afterCursor: 'resume/after-cursor-socket',
    sameCursor: 'resume/same-cursor',
    reverted: 'reorganisations/reverted-then-observed-socket',
    immutable: 'pages/immutable',
    empty: 'pages/empty',
    foreign: 'handshake/foreign-origin',
    before: 'handshake/origin-before-token',
    own: 'handshake/own-origin',
  };
  const value = ({ event }: { event: { Data: Record<string, unknown> } }): unknown => event.Data['value'];
  const isSecond = (text: string): boolean => text.includes('"value":"4"');

  let node: FaultyNode;
  beforeAll(async () => {
    node = await FaultyNode.start(program.development.streamUrl);
  });
  afterAll(() => node.close());

  const check = async (fault: Fault): Promise<string[]> => {
    node.fault = fault;
    const only = Object.values(CASES).flatMap((id) => ['--only', id]);
    const checked = await runStreamCheck(join(folder, 'none'), node.url, ...(await elsewhere()), ...only);
    expect(checked.code).toBe(checked.ids.failed.length > 0 ? 1 : 0);
    expect(checked.ids.ok.length + checked.ids.failed.length).toBe(only.length / 2);
    return checked.ids.failed;
  };

  it('passes what a node does that has none', async () => {
    expect(await check({})).toEqual([]);
  });

  it.each<[string, Fault, string[]]>([
    [
      'loses an event',
      { event: (event) => (value(event) === '4' && event.event.LogIndex > 0 ? [] : [event]) },
      [CASES.oneBlock],
    ],
    [
      'sends an event twice',
      { event: (event) => (value(event) === '2' ? [event, event] : [event]) },
      [CASES.reverted, CASES.oneBlock, CASES.afterCursor, CASES.sameCursor, CASES.immutable],
    ],
    [
      'changes a cursor',
      { event: (event) => [value(event) === '3' ? { ...event, cursor: `${event.cursor}x` } : event] },
      [CASES.sameCursor],
    ],
    ['hides reversals', { event: (event) => (event.change === 'reverted' ? [] : [event]) }, [CASES.reverted]],
    [
      'forgets from which cursor a client resumes',
      { command: ({ cursor: _, ...rest }) => rest },
      [CASES.afterCursor, CASES.immutable],
    ],
    ['loses a server-sent event', { block: (block) => (isSecond(block) ? [] : [block]) }, [CASES.oneBlockSse]],
    [
      'repeats items of a page',
      {
        page: (page) => ({
          ...page,
          items: page.items.flatMap((item) => (value(item) === '4' ? [item, item] : [item])),
        }),
      },
      [CASES.oneBlockPages],
    ],
    ['says that a page is not the end', { page: (page) => ({ ...page, live: false }) }, [CASES.empty]],
    ['sends pages without ETag', { withoutHeader: 'etag' }, [CASES.immutable]],
    ['lets every origin in', { ignoresOrigin: true }, [CASES.foreign, CASES.before]],
  ])('fails a node that %s', async (_, fault, failed) => {
    expect((await check(fault)).toSorted()).toEqual(failed.toSorted());
  });

  it('fails a node that answers polling as every Socket.IO server does', async () => {
    node.fault = {};
    const checked = await runStreamCheck(
      join(folder, 'none'),
      node.url,
      ...(await elsewhere()),
      '--only',
      'handshake/polling',
    );
    expect(checked).toMatchObject({ code: 1, failures: [{ id: 'handshake/polling', came: { status: 400 } }] });
  });
});

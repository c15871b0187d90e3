import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, it } from '@jest/globals';
import type { DomainEvent } from '../../../shared/event-store/transactions/folded-streams.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { sized } from '../../../shared/testing/sized.ts';
import { requestText, sendUnread } from './attackers.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack } from './program-under-attack.ts';

const folder = temporaryFolder();
const size = sized({
  small: { connections: 30, each: 1_600, forMs: 3_000 },
  full: { connections: 100, each: 1_600, forMs: 35_000 },
});

describeAttack('somebody who reads no answer', () => {
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder);
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  it.each([
    ['for the OpenAPI document', '/docs-json', size],
    ['for the page of the docs', '/docs', size],
    ['for small answers', '/universal-account', size],
  ])('takes no memory with many pipelined requests %s', async (_, path, { connections, each, forMs }) => {
    const text = requestText('GET', path).repeat(each);
    const { accountUrl } = attacked.development;
    expectWithinBudgets(await attacked.during(() => sendUnread(accountUrl, { connections, text, forMs })));
  });
});

describeAttack('a user who reads no answer', () => {
  it('holds little memory with 50 queries of long pages a second', async () => {
    // In memory, the answers of these seconds would take 800 MB.
    const { seconds } = sized({ small: { seconds: 20 }, full: { seconds: 66 } });
    await using attacked = await ProgramUnderAttack.start(join(folder, 'pages'));
    const { accountUrl } = attacked.development;
    // Not the calm client's user, whose requests are limited too.
    const { userId, bearer } = await signIn(attacked.development);
    await attacked.append(`user-${userId}`, longHistory(userId));
    const page = `/user/${userId}/history?take=1000`;
    const isLong = async () => {
      const { body } = await call(accountUrl + page, { headers: bearer });
      return (body['items'] as unknown[]).length === 1_000;
    };
    await eventually(isLong, 20_000, 'the history must be projected');
    const text = requestText('GET', page, bearer).repeat(7);
    const cost = await attacked.during(() =>
      Promise.all(
        Array.from({ length: seconds }, async (_, second) => {
          await pause(second * 1_000);
          await sendUnread(accountUrl, { connections: 7, text, forMs: (seconds - second) * 1_000 });
        }),
      ),
    );
    expectWithinBudgets(cost);
  });
});

/** 1,000 changes of a profile: a page of 1,000 has 0.8 MB. */
const longHistory = (userId: string): DomainEvent[] =>
  Array.from({ length: 1_000 }, (_, change) => ({
    type: 'ProfileUpdated',
    data: { userId, changes: { avatar: `https://shop.example/${String(change).padStart(450, 'x')}` } },
  }));

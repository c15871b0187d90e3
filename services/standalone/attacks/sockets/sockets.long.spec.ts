import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { sized } from '../../../../shared/testing/sized.ts';
import { emitEvents } from '../event-source.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack } from '../program-under-attack.ts';
import { connectPacket, joinStream, openSocket, sendOften, textFrame, untilCut } from './socket-attackers.ts';

const folder = temporaryFolder();
/** More than the answers to the commands: a part of the history was sent, as far as the kernel accepted it. */
const FIRST_FRAMES_BYTES = 30_000;
const SENT_WITHIN_MS = 60_000;
/** Sockets of one address, and the time after which one without a token is closed. */
const AT_ONCE_MAX = 256;
const CLOSED_AFTER_MS = 10_000;
const size = sized({
  small: { connects: 5_000, sockets: 600, packets: 100_000, events: 3_000, forMs: 3_000 },
  full: { connects: 50_000, sockets: 4_000, packets: 2_500_000, events: 100_000, forMs: 30_000 },
});

describeAttack('somebody who attacks over sockets', () => {
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder);
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  it('sends CONNECT without end, with tokens that are not valid, and is cut each time', async () => {
    const { streamUrl } = attacked.development;
    const frame = textFrame(connectPacket('a.b.c'));
    let cut = 0;
    const attack = async () => {
      const endsAt = performance.now() + size.forMs;
      while (performance.now() < endsAt || cut === 0) {
        const attacker = openSocket(streamUrl);
        if (!(await attacker.opened)) continue;
        await sendOften(attacker, frame, size.connects);
        // A socket without a token would be closed later, for another reason.
        if ((await untilCut(attacker)) === 'a socket sends one CONNECT packet') cut += 1;
      }
    };
    expectWithinBudgets(await attacked.during(attack));
    expect(cut).toBeGreaterThan(0);
  });

  it('opens thousands of sockets without a token, and gets some', async () => {
    const { streamUrl } = attacked.development;
    let allowed = 0;
    let opened = 0;
    const attack = async () => {
      const from = performance.now();
      const attackers = Array.from({ length: size.sockets }, () => openSocket(streamUrl));
      const answers = await Promise.all(attackers.map((attacker) => attacker.opened));
      opened = answers.filter((isOpen) => isOpen).length;
      // On a slow machine the first ones are closed while the last ones are opened.
      allowed = AT_ONCE_MAX * (1 + Math.floor((performance.now() - from) / CLOSED_AFTER_MS));
      await pause(size.forMs);
      for (const { socket } of attackers) socket.destroy();
    };
    expectWithinBudgets(await attacked.during(attack));
    expect(opened).toBeGreaterThan(0);
    expect(opened).toBeLessThanOrEqual(allowed);
  });

  it('sends packets that are no command on a connection, as fast as they are taken, and is cut', async () => {
    const { streamUrl } = attacked.development;
    const { accessToken } = await signIn(attacked.development);
    let cut = 0;
    const attack = async () => {
      const endsAt = performance.now() + size.forMs;
      while (performance.now() < endsAt || cut === 0) {
        const attacker = await joinStream(streamUrl, accessToken).catch(() => pause(100));
        if (!attacker) continue;
        await sendOften(attacker, textFrame('42/events,["nothing",1]'), size.packets);
        if ((await untilCut(attacker)).startsWith('rate_limited: ')) cut += 1;
      }
    };
    expectWithinBudgets(await attacked.during(attack));
    expect(cut).toBeGreaterThan(0);
  });

  it('subscribes to long histories over many connections, and reads none', async () => {
    const contractAddress = await emitEvents(attacked.development, attacked.user, size.events);
    // Restarted, because the memory used to store the events does not count towards the attack.
    await attacked.program.stop();
    attacked = await ProgramUnderAttack.start(folder);
    const { development } = attacked;
    const user = await signIn(development);
    const attackers = await Promise.all(
      Array.from({ length: 25 }, () => joinStream(development.streamUrl, user.accessToken)),
    );
    const attack = async () => {
      const endsAt = performance.now() + size.forMs;
      for (const { socket } of attackers) socket.pause();
      while (performance.now() < endsAt) {
        for (const { socket } of attackers) {
          for (const finality of ['finalized', 'latest']) {
            const command = { chainId: 2484, contractAddress, eventSignature: 'Tick', fromBlock: 0, finality };
            socket.write(textFrame(`42/events,1${JSON.stringify(['subscribe', command])}`));
          }
        }
        await pause(1_000);
      }
      const received = () => Math.max(...attackers.map(({ socket }) => socket.bytesRead));
      await eventually(() => received() > FIRST_FRAMES_BYTES, SENT_WITHIN_MS, 'a part of the history must be sent');
      for (const { socket } of attackers) socket.destroy();
    };
    expectWithinBudgets(await attacked.during(attack));
  });
});

import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { startService } from '../start-service.ts';
import { rawConnection } from '../../testing/http/raw-http.ts';
import { startThings, ThingsModule } from '../../testing/http/things-service.ts';
import { startStopwatch } from '../../testing/stopwatch.ts';

/** Starts a service that is busy answering a command. */
const startBusy = async (delayMs: number) => {
  const things = await startThings({ environment: { RATE_LIMITS: 'off' } });
  const before = things.made();
  const busy = things.post({ name: 'n', delayMs }).catch((error: unknown) => error);
  await eventually(() => things.made() > before, 1_000, 'the command must arrive');
  return { ...things, busy };
};

describe('a service that stops', () => {
  it('finishes requests in flight, refuses later ones on open connections, and no longer listens', async () => {
    await using things = await startBusy(200);
    const { service, ask, busy } = things;
    const late = rawConnection(service.url);
    late.write('GET /things/late HTTP/1.1\r\nhost: x\r\n');
    await ask('/things/one');
    const closed = service.close();
    late.write('\r\n');
    expect(await busy).toMatchObject({ status: 201 });
    expect(await late.answer).toMatch(/^HTTP\/1\.1 503 .*"code":"shutting_down"/s);
    await closed;
    await expect(ask('/things/one')).rejects.toThrow('fetch failed');
  });

  it('leaves nothing running when its port is taken', async () => {
    await using things = await startThings();
    const { service, foundation, tokens } = things;
    const { port, hostname: host } = new URL(service.url);
    const second = startService({ module: ThingsModule, foundation, issuer: tokens.issuer, host, port: Number(port) });
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await Promise.all([service.close(), service.close()]);
  });

  it('does not wait for callers that have disconnected', async () => {
    await using things = await startBusy(0);
    const { service } = things;
    const gone = Array.from({ length: 5 }, () => rawConnection(service.url));
    for (const connection of gone) {
      connection.write(
        'POST /things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
      );
    }
    await things.ask('/things/one');
    for (const connection of gone) connection.reset();
    await things.ask('/things/one');
    const passedMs = startStopwatch();
    await service.close();
    expect(passedMs()).toBeLessThan(1_000);
  });

  it('does not wait for an answer that never arrives', async () => {
    await using things = await startBusy(5_000);
    const { service, busy } = things;
    const passedMs = startStopwatch();
    await service.close();
    expect(passedMs()).toBeLessThan(3_000);
    expect(await busy).toMatchObject({ message: 'fetch failed' });
  });
});

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { startService } from '../start-service.ts';
import { rawConnection } from '../../testing/http/raw-http.ts';
import { heldCount, letGo, startThings, ThingsModule } from '../../testing/http/things-service.ts';

const HOUR_MS = 3_600_000;

/** Starts a service that is busy answering a command until `letGo`. */
const startBusy = async (drainMs: number) => {
  const things = await startThings({ environment: { RATE_LIMITS: 'off' }, drainMs });
  const busy = things.post({ name: 'held' }).catch((error: unknown) => error);
  await eventually(() => heldCount() === 1, 1_000, 'the command must arrive');
  return { ...things, busy, server: things.service.app.getHttpServer() };
};

describe('a service that stops', () => {
  it('finishes requests in flight, refuses later ones on open connections, and no longer listens', async () => {
    await using things = await startBusy(HOUR_MS);
    const { service, server, ask, busy } = things;
    const accepted = once(server, 'connection');
    const late = rawConnection(service.url);
    const [socket] = (await accepted) as [Socket];
    const head = 'GET /things/late HTTP/1.1\r\nhost: x\r\n';
    late.write(head);
    await eventually(() => socket.bytesRead === head.length, 1_000, 'the head must arrive');
    const closed = service.close();
    late.write('\r\n');
    expect(await late.answer).toMatch(/^HTTP\/1\.1 503 .*"code":"shutting_down"/s);
    letGo();
    expect(await busy).toMatchObject({ status: 201 });
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
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' }, drainMs: HOUR_MS });
    const { service } = things;
    let begun = 0;
    service.app.getHttpServer().on('request', () => (begun += 1));
    const gone = Array.from({ length: 5 }, () => rawConnection(service.url));
    for (const connection of gone) {
      connection.write(
        'POST /things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
      );
    }
    await eventually(() => begun === gone.length, 1_000, 'the requests must arrive');
    for (const connection of gone) connection.reset();
    await service.close();
  });

  it('does not wait for an answer that never arrives', async () => {
    await using things = await startBusy(50);
    const { service, busy } = things;
    await service.close();
    expect(await busy).toMatchObject({ message: 'fetch failed' });
    letGo();
  });
});

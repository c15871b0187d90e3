import { describe, expect, it } from '@jest/globals';
import { appsModel } from '../read-models/account/apps.ts';
import { storedEvent } from '../testing/event-builder.ts';
import { projectInto } from '../testing/project.ts';
import { TestClock, testFoundation } from '../testing/test-foundation.ts';
import { startThings, ThingsModule } from '../testing/http/things-service.ts';
import { startService } from '../edge/start-service.ts';
import { AppOrigins } from './app-origins.ts';

describe('the origins of apps', () => {
  const startBeside = async (NODE_ENV: 'development' | 'production', origins: string[]) => {
    await using things = await startThings();
    const { foundation, tokens } = things;
    const registered = storedEvent('AppRegistered', { appId: 'app_1', name: 'Shop', origins }, { position: 1 });
    await projectInto(foundation.readStore, [appsModel], [registered]);
    const service = await startService({
      module: ThingsModule,
      foundation: { ...foundation, settings: { ...foundation.settings, NODE_ENV } },
      issuer: tokens.issuer,
      host: '127.0.0.1',
      port: 0,
    });
    await service.close();
  };

  it.each(['*', 'https://*.shop.example'])(
    'prevent a start in production when one is a wildcard: %s',
    async (origin) => {
      await expect(startBeside('production', ['https://shop.example', origin])).rejects.toMatchObject({
        name: 'CannotStart',
        message: expect.stringContaining(`app app_1 (Shop) allows the origin ${origin}`),
      });
      await startBeside('development', [origin]);
    },
  );

  it('allow a start when none is a wildcard', async () => {
    await startBeside('production', ['https://shop.example', 'https://other.example']);
  });

  it('of a revoked app neither prevent a start nor allow anything', async () => {
    const clock = new TestClock();
    const { readStore } = await testFoundation({ clock });
    const origins = new AppOrigins(readStore, clock);
    const registered = ['*', 'https://shop.example'].map((origin, at) =>
      storedEvent('AppRegistered', { appId: `app_${String(at)}`, origins: [origin] }, { position: at + 1 }),
    );
    await projectInto(readStore, [appsModel], registered);
    expect(await origins.allow('https://shop.example')).toBe(true);
    const revoked = [0, 1].map((at) =>
      storedEvent('AppRevoked', { appId: `app_${String(at)}` }, { position: registered.length + at + 1 }),
    );
    await projectInto(readStore, [appsModel], revoked);
    clock.time += 1_000;
    expect(await origins.allow('https://shop.example')).toBe(false);
    await expect(origins.refuseWildcards()).resolves.toBeUndefined();
  });

  it('are read again after a second, although the clock of the machine is set back', async () => {
    const clock = new TestClock();
    const { readStore } = await testFoundation({ clock });
    const origins = new AppOrigins(readStore, clock);
    const allow = (appId: string, origin: string, position: number) =>
      projectInto(readStore, [appsModel], [storedEvent('AppRegistered', { appId, origins: [origin] }, { position })]);
    await allow('app_1', 'https://shop.example', 1);
    expect(await origins.allow('https://shop.example')).toBe(true);
    clock.jump(-3_600_000);
    await allow('app_2', 'https://new.example', 2);
    expect(await origins.allow('https://new.example')).toBe(false);
    clock.time += 1_000;
    expect(await origins.allow('https://new.example')).toBe(true);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { ServiceProcess } from '../../../shared/testing/processes/running-processes.ts';
import { afterFaults, TEST_MS } from './after-faults.ts';
import type { Worker } from './system-under-fault.ts';

const TAKES_OVER_WITHIN_MS = 10_000;

const workers = ['relay', 'projector', 'event-catcher'] as const satisfies readonly Worker[];
type Workers = ReadonlyMap<Worker, ServiceProcess>;

afterFaults(({ system: running }) => {
  describe('with two processes each of relay, projector and event catcher,', () => {
    const first = (): Workers => new Map(workers.map((name) => [name, running().processes.service(name)]));

    const waitUntilWorking = async (processes: Workers, isWorking: boolean): Promise<void> => {
      const wait = ([name, service]: [Worker, ServiceProcess]) =>
        running().eventually(
          () => running().works(name, service, isWorking),
          TAKES_OVER_WITHIN_MS,
          isWorking ? `this ${name} must take over` : `this ${name} must stand by`,
        );
      await Promise.all(Array.from(processes, wait));
    };
    /** Starts the second ones once the first ones work. @param started closes them at the end of the test */
    const startSecond = async (started: AsyncDisposableStack): Promise<Workers> => {
      await waitUntilWorking(first(), true);
      const another = async (name: Worker) => [name, started.use(await running().processes.another(name))] as const;
      return new Map(await Promise.all(workers.map(another)));
    };
    /**
     * Ensures that these processes work and the others are on standby: on a busy machine a lease may have lapsed and
     * changed its holder.
     */
    const letWork = async (processes: Workers, others: Workers): Promise<void> => {
      for (const [name, service] of processes) {
        const other = others.get(name);
        if (!other || (await running().works(name, service, true))) continue;
        await running().whileStopped([other], () => waitUntilWorking(new Map([[name, service]]), true));
      }
    };

    it(
      'those that work were killed',
      async () => {
        const system = running();
        await using started = new AsyncDisposableStack();
        const others = await startSecond(started);
        await waitUntilWorking(others, false);
        const workload = system.work();
        await workload.goesOn(10);
        await letWork(first(), others);
        await system.kill(...workers);
        await waitUntilWorking(others, true);
        await workload.goesOn(10);
        await system.restart(...workers);
        await waitUntilWorking(first(), false);
        await letWork(others, first());
        await Promise.all(Array.from(others.values(), ({ process }) => process.kill()));
        await waitUntilWorking(first(), true);
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'those that work were stopped for a while as by a debugger',
      async () => {
        const system = running();
        await using started = new AsyncDisposableStack();
        const others = await startSecond(started);
        const workload = system.work();
        await workload.goesOn(10);
        await letWork(first(), others);
        await system.whileStopped([...first().values()], async () => {
          await waitUntilWorking(others, true);
          await workload.goesOn(20);
        });
        await waitUntilWorking(first(), false);
        await workload.goesOn(20);
        await letWork(others, first());
        await Promise.all(Array.from(others.values(), ({ process }) => process.stop()));
        await waitUntilWorking(first(), true);
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );
  });
});

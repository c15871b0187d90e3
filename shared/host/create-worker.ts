import 'reflect-metadata';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Dependencies } from './dependencies.ts';
import { Followers } from '../loops/checkpoint-loops.ts';
import { foundationModule, type WorkerFoundation } from './foundation.module.ts';
import { Health, type HealthReport } from './health.ts';
import { READINESS } from './tokens.ts';

export interface RunningWorker {
  health: () => Promise<HealthReport>;
  followers: Followers;
  /** Returns when its loops have ended. */
  close: () => Promise<void>;
}

/**
 * Starts a part that has no port.
 * @param module exports `Followers`
 */
export const createWorker = async (module: Type, foundation: WorkerFoundation): Promise<RunningWorker> => {
  const root = {
    module: WorkerRoot,
    imports: [foundationModule(foundation), module],
    providers: [
      Dependencies,
      { provide: READINESS, useFactory: ({ readiness }: Followers) => readiness, inject: [Followers] },
      Health,
    ],
  };
  const context = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  const health = context.get(Health);
  return { health: () => health.report(), followers: context.get(Followers), close: () => context.close() };
};

@Module({})
class WorkerRoot {}

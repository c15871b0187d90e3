import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Dependencies } from './dependencies.ts';
import { READINESS } from './tokens.ts';

/** Further conditions of being ready, by name, such as "caught up". */
export type Readiness = Record<string, () => boolean>;

@Controller('health')
export class HealthHttp {
  constructor(
    private readonly dependencies: Dependencies,
    @Inject(READINESS) private readonly readiness: Readiness,
  ) {}

  @Get('live')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const dependencies = await this.dependencies.probe();
    const conditions = Object.fromEntries(Object.entries(this.readiness).map(([name, holds]) => [name, holds()]));
    const isReady =
      Object.values(dependencies).every((state) => state === 'up') && Object.values(conditions).every((holds) => holds);
    reply.status(isReady ? 200 : 503);
    return { status: isReady ? 'ready' : 'not_ready', dependencies, ...conditions };
  }
}

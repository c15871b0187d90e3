import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Health } from '../host/health.ts';

@Controller('health')
export class HealthHttp {
  constructor(private readonly health: Health) {}

  @Get('live')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const { isReady, dependencies, conditions } = await this.health.report();
    reply.status(isReady ? 200 : 503);
    return { status: isReady ? 'ready' : 'not_ready', dependencies, ...conditions };
  }
}

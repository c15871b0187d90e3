import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ProcessHealth } from '../host/health/process-health.ts';

@Controller('health')
export class HealthHttp {
  constructor(private readonly health: ProcessHealth) {}

  @Get('live')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const { status, body } = await this.health.ready();
    reply.status(status);
    return body;
  }
}

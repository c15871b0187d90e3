import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Health, readyAnswer } from '../host/health.ts';

@Controller('health')
export class HealthHttp {
  constructor(private readonly health: Health) {}

  @Get('live')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const { status, body } = readyAnswer(await this.health.report());
    reply.status(status);
    return body;
  }
}

import 'reflect-metadata';
import { type ArgumentsHost, Body, Catch, Controller, HttpCode, Module, Post, Res } from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter } from '@nestjs/core';
import { BatchwiseError } from 'batchwise';
import type { Response } from 'express';
import { clientSignal } from './client-signal.js';
import { classify } from './model.js';

@Controller()
class PredictController {
  @Post('predict')
  @HttpCode(200)
  predict(@Body() body: unknown, @Res({ passthrough: true }) response: Response) {
    return classify(body, clientSignal(response));
  }
}

/** NestJS takes the status from the error, but not the headers: without this filter, no Retry-After. */
@Catch(BatchwiseError)
class RetryAfterFilter extends BaseExceptionFilter<BatchwiseError> {
  override catch(error: BatchwiseError, host: ArgumentsHost) {
    host.switchToHttp().getResponse<Response>().set(error.headers);
    super.catch(error, host);
  }
}

@Module({
  controllers: [PredictController],
  providers: [{ provide: APP_FILTER, useClass: RetryAfterFilter }],
})
export class AppModule {}

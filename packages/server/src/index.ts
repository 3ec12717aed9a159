export { ConfigError, type ConfigProblem, problemText } from './config/config-error.js';
export { CONFIG_FLAGS, type ConfigFlag, type ConfigFlags } from './config/config-flags.js';
export { type ConfigJson, configJson, configText } from './config/config-report.js';
export { type LoadConfigOptions, loadConfig } from './config/load-config.js';
export type { LoadedConfig } from './config/loaded-config.js';
export type {
  LimitSettings,
  ListenSettings,
  MetricsSettings,
  ModelSettings,
  RunnerOverrides,
  RunnersSettings,
  ServerSettings,
} from './config/server-settings.js';
export type { Origin } from './config/setting-origin.js';
export {
  REQUEST_ERRORS,
  RequestError,
  type RequestErrorCode,
  type RequestErrorOptions,
} from './request-error.js';
export type { LoadSettings, RunningServer } from './running-server.js';
export { type ServeOptions, serve } from './serve.js';
export type { BoundModel, BoundRunner, BoundRunners } from './service/bound-runners.js';
export { defineService, type ServiceDefinition } from './service/define-service.js';
export { type FunctionOptions, fn } from './service/fn.js';
export { loadService } from './service/load-service.js';
export { onnx } from './service/onnx.js';
export type { AddRoute, RouteBuilder, RouteOptions } from './service/route-builder.js';
export type { PathParams, RouteContext } from './service/route-context.js';
export type {
  FunctionBatching,
  FunctionDeclaration,
  ModelDeclaration,
  RunnerDeclaration,
  RunnerDeclarations,
} from './service/runner-declaration.js';
export type { DeclaredSettings, RunnerOptions } from './service/runner-options.js';
export type { Service, ServiceRoute } from './service/service.js';
export type { WebAddress } from './web-server.js';

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, ClientConfig, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData,
    ProgressNotificationParam, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::{Value, json};

#[derive(Clone, Default)]
struct Client {
    progress: Arc<Mutex<Vec<f64>>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.capabilities.sampling = Some(Default::default());
        config.capabilities.elicitation = Some(Default::default());
        config
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let message = SamplingMessage::assistant_text("a completion");
        Ok(CreateMessageResult::new(message, "test".to_string()))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let content = json!({ "response": "an answer" });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push(params.progress);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).expect("a URL");
    let handler = Client::default();
    let client = handler
        .clone()
        .serve(StreamableHttpClientTransport::from_uri(url))
        .await?;
    let call = async |name: &'static str, given: Value| {
        let mut params = CallToolRequestParams::new(name);
        params.arguments = given.as_object().cloned();
        let result = client.call_tool(params).await?;
        let text = result.content[0].as_text().map(|content| content.text.clone());
        Ok::<_, rmcp::ServiceError>(text.unwrap_or_default())
    };

    let tools = client.list_all_tools().await?;
    call("test_tool_with_progress", json!({})).await?;
    let observed = json!({
        "tools": tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>(),
        "text": call("test_simple_text", json!({})).await?,
        "progress": handler.progress.lock().unwrap().clone(),
        "error": call("test_error_handling", json!({})).await?,
        "elicitation": call("test_elicitation", json!({ "message": "What is it?" })).await?,
        "sampling": call("test_sampling", json!({ "prompt": "Complete this." })).await?,
    });
    println!("{observed}");
    client.cancel().await?;
    Ok(())
}
